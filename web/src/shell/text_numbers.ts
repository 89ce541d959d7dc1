// Where the numbers of one line of the text stand: near their tokens, and none on another.

const kApart = 3;    // px between two numbers
const kMost = 14;    // px that a number may stand beside its token's middle

/** How a token is marked; its number stands `nudge` px behind its middle, or has no room (null). `said`: for those who do not see it;
    `title`: what pointing at it says, default: a number that has no room. */
export interface Mark { shade: number; number: string; classes: string; nudge: number | null; said?: string; title?: string }

export interface NumberPlace { mark: Mark; middle: number; width: number }

/** Sets each mark's `nudge`; the heavier ones choose first, who finds no room is left out. */
export function placeNumbers(wanted: NumberPlace[], room: number): void {
  const taken: {begin: number; end: number}[] = [];
  for (const {mark, middle, width} of [...wanted].sort((a, b) => b.mark.shade - a.mark.shade)) {
    const fits = (at: number) => at >= 0 && at + width <= room && Math.abs(at + width / 2 - middle) <= kMost
      && taken.every(({begin, end}) => at >= end + kApart || at + width + kApart <= begin);
    const own = Math.max(0, Math.min(room - width, middle - width / 2));
    const beside = taken.flatMap(({begin, end}) => [end + kApart, begin - kApart - width])
      .sort((a, b) => Math.abs(a - own) - Math.abs(b - own));
    const begin = [own, ...beside].find(fits);
    mark.nudge = begin === undefined ? null : begin + width / 2 - middle;
    if (begin !== undefined) taken.push({begin, end: begin + width});
  }
}
