// The margins of the matrix: weight received by each key, effective keys of each query.
import type {Stage} from '../shell/stage';
import type {Marginals} from '../transport/api';
import type {Sight} from './matrix_sight';

const kLeastReceived = 0.1;  // a difference of this size fills the margin; smaller ones fill less

function largestOf(values: number[], least: number): number {
  return values.reduce((most, value) => Math.max(most, Math.abs(value)), least);
}

/** The largest of the values that share one pixel, drawn as one bar. */
function bars(
  values: number[], offset: number, size: number, side: number, draw: (at: number, width: number, value: number) => void
): void {
  const width = Math.max(1, size - (size >= 4 ? 1 : size >= 2 ? 0.5 : 0));
  if (size >= 1) {
    for (let index = 0; index < values.length; ++index) {
      const at = offset + index * size;
      if (at + size >= 0 && at <= side) draw(at, width, values[index]!);
    }
    return;
  }
  for (let pixel = 0; pixel < side; ++pixel) {
    const begin = Math.max(0, Math.floor((pixel - offset) / size));
    const end = Math.min(values.length, Math.ceil((pixel + 1 - offset) / size));
    let most = 0;
    for (let index = begin; index < end; ++index) most = Math.max(most, values[index]!);
    if (most > 0) draw(pixel, 1, most);
  }
}

function prepare(
  {pixelRatio}: Stage, canvas: HTMLCanvasElement, width: number, height: number
): CanvasRenderingContext2D {
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * pixelRatio);
  canvas.height = Math.round(height * pixelRatio);
  const context = canvas.getContext('2d')!;
  context.scale(pixelRatio, pixelRatio);
  return context;
}

/** Draws the differences of each sign in its colour. */
function bySign(stage: Stage, context: CanvasRenderingContext2D, values: number[], draw: (values: number[]) => void): void {
  if (!values.some((value) => value < 0)) return draw(values);
  for (const [role, sign] of [['--more', 1], ['--less', -1]] as const) {
    context.fillStyle = stage.colour(role);
    draw(values.map((value) => sign * value > 0 ? sign * value : -1));
  }
}

export const kReceivedHeight = 26;
export const kUseWidth = 42;

export function drawReceived(
  stage: Stage, canvas: HTMLCanvasElement, marginals: Marginals | null, sight: Sight, side: number, key: number | null
): void {
  const context = prepare(stage, canvas, side, kReceivedHeight);
  if (!marginals) return;
  const largest = largestOf(marginals.received, marginals.received.some((value) => value < 0) ? kLeastReceived : 1e-30);
  const draw = (at: number, width: number, value: number) => {
    if (value < 0) return;  // of the other sign
    const height = Math.max(1, kReceivedHeight * value / largest);
    context.fillRect(at, kReceivedHeight - height, width, height);
  };
  context.fillStyle = stage.colour('--second');
  bySign(stage, context, marginals.received, (values) => bars(values, sight.left, sight.size, side, draw));
  if (key === null) return;
  context.fillStyle = stage.colour('--accent-line');
  draw(sight.left + key * sight.size, Math.max(2, sight.size), Math.abs(marginals.received[key]!));
}

export function drawUse(
  stage: Stage, canvas: HTMLCanvasElement, marginals: Marginals | null, sight: Sight, height: number, query: number | null
): void {
  const context = prepare(stage, canvas, kUseWidth, height);
  if (!marginals) return;
  const largest = largestOf(marginals.keys_in_use, 1);
  const draw = (at: number, width: number, value: number) => {
    if (value >= 0) context.fillRect(0, at, Math.max(1, kUseWidth * value / largest), width);
  };
  context.fillStyle = stage.colour('--second');
  bySign(stage, context, marginals.keys_in_use, (values) => bars(values, sight.top, sight.size, height, draw));
  if (query === null) return;
  context.fillStyle = stage.colour('--accent-line');
  draw(sight.top + query * sight.size, Math.max(2, sight.size), Math.abs(marginals.keys_in_use[query]!));
}
