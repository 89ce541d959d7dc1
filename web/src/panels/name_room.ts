// Places the names of points so that none overlap.

const kApart = 2;  // px: widths are estimated

/** Possible places for names: right, left, above, below a point; none if all are taken. */
export class Room {
  private readonly taken: [number, number, number, number][] = [];

  constructor(points: {x: number; y: number}[], private readonly width: number) {
    for (const {x, y} of points) this.taken.push([x - 3, y - 3, x + 3, y + 3]);
  }

  /** Reserves the place of an existing text, whose baseline begins or ends (`anchor`) here. */
  take(x: number, y: number, width: number, anchor: 'start' | 'middle' | 'end' = 'start'): void {
    const left = anchor === 'start' ? x : anchor === 'middle' ? x - width / 2 : x - width;
    this.taken.push([left - kApart, y - 10, left + width + kApart, y + 2]);
  }

  find(x: number, y: number, width: number): {x: number; y: number} | null {
    const places = [[x + 6, y + 4], [x - width - 6, y + 4], [x - width / 2, y - 7], [x - width / 2, y + 15]] as const;
    for (const [left, base] of places) {
      const box = [left - kApart, base - 10, left + width + kApart, base + 2] as const;
      if (box[0] < 0 || box[2] > this.width + 20) continue;
      if (this.taken.some(([a, b, c, d]) => a < box[2] && c > box[0] && b < box[3] && d > box[1])) continue;
      this.taken.push([...box]);
      return {x: left, y: base};
    }
    return null;
  }
}
