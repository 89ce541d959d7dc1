// The layout of a grid's heads: equal columns, as many lines per layer as needed.

const kSide = 134;       // px of a thumbnail: 67 cells of 2
const kFew = 6;          // heads per layer: with at most this many, thumbnails are larger and use the width
const kLargeSide = 202;
const kLeastSide = 96;   // having one line per layer is worth shrinking to this
const kLeastBeside = 84; // if the numbers are beside it
const kGap = 14;         // minimum between columns
const kText = 68;        // px to the right of a thumbnail without a free corner
const kLineGap = 20;
const kBracket = 14;     // above a line: the heads of a kv head
const kName = 24;        // above a layer, if it has no margin
const kLeastTall = 66;   // of a line, for the numbers

export interface GridShape {
  width: number;
  heads: number;       // per layer
  layers: number;
  queries: number;
  keys: number;
  isCausal: boolean;   // the corner of a thumbnail is free
  isNarrow: boolean;
  hasBrackets: boolean;
}

/** In px, within the grid. */
export interface GridLayout {
  columns: number;
  lines: number;         // per layer
  side: number;          // longer side of a thumbnail
  cells: number;         // maximum along it
  pictureWidth: number;
  pictureHeight: number;
  left: number;          // where the first column begins
  pitch: number;         // distance between columns
  cellWidth: number;
  above: number;         // of a line, above the thumbnails
  lineHeight: number;
  name: number;          // above a layer
  height: number;        // total
}

/** Of a thumbnail whose longer side is `side`. */
export function pictureSize(side: number, queries: number, keys: number): Pick<GridLayout, 'pictureWidth' | 'pictureHeight'> {
  const sizeOf = (length: number) => Math.max(2, Math.round(side * length / Math.max(queries, keys)));
  return {pictureWidth: sizeOf(keys), pictureHeight: sizeOf(queries)};
}

export function layoutOf(shape: GridShape): GridLayout {
  const {width, heads, layers, queries, keys, isCausal, isNarrow} = shape;
  const left = isNarrow ? 0 : 72;
  const room = Math.max(kLeastSide, width - left);
  const text = isCausal ? 0 : kText;
  const columnsOf = (side: number) => Math.max(1, Math.floor((room + kGap) / (side + text + kGap)));
  const columns = heads <= columnsOf(isCausal ? kLeastSide : kLeastBeside) ? heads : Math.ceil(heads / Math.ceil(heads / columnsOf(isNarrow ? kLeastSide : kSide)));
  const fitting = Math.floor((room + kGap) / columns - kGap - text);
  const side = Math.max(16, Math.min(heads > kFew || isNarrow ? kSide : kLargeSide, fitting - fitting % 2));
  const cellWidth = side + text;
  const pitch = columns < 2 ? cellWidth : (room - cellWidth) / (columns - 1);
  const {pictureWidth, pictureHeight} = pictureSize(side, queries, keys);
  const above = shape.hasBrackets ? kBracket : 0;
  const lineHeight = above + (isCausal ? pictureHeight : Math.max(kLeastTall, pictureHeight)) + kLineGap;
  const lines = Math.ceil(heads / columns);
  const name = isNarrow ? kName : 0;
  return {
    columns, lines, side, cells: side / 2, pictureWidth, pictureHeight, left, pitch, cellWidth,
    above, lineHeight, name, height: layers * (lines * lineHeight + name),
  };
}

/** The index of a line, counted over all layers. */
export function lineTop({lines, lineHeight, name}: GridLayout, line: number): number {
  return line * lineHeight + (Math.floor(line / lines) + 1) * name;
}

/** The lines that [top, bottom] shows. */
export function linesWithin(layout: GridLayout, layers: number, top: number, bottom: number): {first: number; end: number} {
  const {lines, lineHeight, name} = layout;
  const layerHeight = lines * lineHeight + name;
  const lineAt = (y: number) => {
    const layer = Math.floor(y / layerHeight);
    return layer * lines + Math.floor(Math.max(0, y - layer * layerHeight - name) / lineHeight);
  };
  const count = layers * lines;
  return {first: Math.max(0, Math.min(count, lineAt(top))), end: Math.max(0, Math.min(count, lineAt(bottom) + 1))};
}
