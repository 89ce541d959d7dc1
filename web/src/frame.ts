// What is drawn once a frame, however often it is asked for.

const waiting = new Set<() => void>();

function run(): void {
  const drawn = new Set<() => void>();
  for (const draw of waiting) {  // what one of them asks for stands in the same frame
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
