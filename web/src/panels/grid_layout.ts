// Where the heads of a grid stand: equal columns, as many lines a layer as its heads need.

const kSide = 134;       // px of a thumbnail: 67 cells of 2
const kFew = 6;          // heads of a layer: so few have larger thumbnails, which use the width
const kLargeSide = 202;
const kLeastSide = 96;   // one line a layer is worth so much
const kLeastBeside = 84; // where the numbers stand beside it
const kGap = 14;         // at least, between columns
const kText = 68;        // px right of a thumbnail whose corner is not free
const kLineGap = 20;
const kBracket = 14;     // over a line: the heads of a kv head
const kName = 24;        // over a layer, where it has no margin
const kLeastTall = 66;   // of a line, for the numbers

export interface GridShape {
  width: number;
  heads: number;       // of a layer
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
  lines: number;         // of a layer
  side: number;          // of a thumbnail, its longer side
  cells: number;         // at most, along it
  pictureWidth: number;
  pictureHeight: number;
  left: number;          // where the first column begins
  pitch: number;         // from column to column
  cellWidth: number;
  above: number;         // of a line, over the thumbnails
  lineHeight: number;
  name: number;          // over a layer
  height: number;        // of all
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

/** Where a line stands, counted through all layers. */
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
