// Draws once per frame, however often it is requested.

const waiting = new Set<() => void>();

function run(): void {
  const drawn = new Set<() => void>();
  for (const draw of waiting) {  // drawings requested by one of them belong to the same frame
    if (drawn.has(draw)) continue;
    waiting.delete(draw);
    drawn.add(draw);
    draw();
  }
}

export class Frame {
  constructor(private readonly draw: () => void) {}

  ask(): void {
    if (!waiting.has(this.draw)) requestAnimationFrame(run);
    waiting.add(this.draw);
  }

  stop(): void { waiting.delete(this.draw); }
}
