// Which rows are in the column of queries: around the pinned one, moved by the wheel, or around a hovered one.

export class RowWindow {
  begin = 0;
  end = 0;
  private shift = 0;                     // rows that the wheel moved it
  private centre: number | null = null;

  constructor(private readonly length: number) {}

  get rows(): number { return this.end - this.begin; }

  /** True if another row has become the centre. */
  place(pinned: number, hovered: number | null, fits: number): boolean {
    const isNew = pinned !== this.centre;
    this.centre = pinned;
    if (isNew) this.shift = 0;
    const rows = Math.min(this.length, fits);
    const clamp = (begin: number) => Math.max(0, Math.min(this.length - rows, begin));
    const middle = Math.floor(rows / 2);
    this.shift = clamp(pinned - middle + this.shift) - clamp(pinned - middle);
    this.begin = clamp(pinned - middle) + this.shift;
    const isOutside = hovered !== null && (hovered < this.begin || hovered >= this.begin + rows);
    if (isOutside) this.begin = clamp(hovered - middle);
    this.end = this.begin + rows;
    return isNew;
  }

  move(rows: number): void { this.shift += rows; }
}
