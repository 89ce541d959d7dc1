// Parts of SVG text and attributes: numbers, colours, escaping.

export interface Colour { hex: string; alpha: number }

/** Two decimals are finer than a pixel; `-0` is 0. */
export function number(value: number): string {
  return String(Math.round(value * 100) / 100 || 0);
}

/** A computed colour: `rgb(0, 114, 178)`, `rgba(0, 0, 0, 0)` or `color(srgb 0.5 0.6 0.7)`. */
export function colour(computed: string): Colour {
  const parts = computed.match(/-?[\d.]+(?:e-?\d+)?/g)?.map(Number) ?? [];
  const scale = computed.startsWith('color(') ? 255 : 1;
  const channels = parts.slice(0, 3).map((part) => Math.max(0, Math.min(255, Math.round(part * scale))));
  if (channels.length < 3) return {hex: '#000000', alpha: 0};  // none, transparent
  return {hex: `#${channels.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`, alpha: parts[3] ?? 1};
}

// Characters that XML 1.0 forbids.
const kForbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export function escape(text: string): string {
  return text.replace(kForbidden, '\ufffd')
    .replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
}

/** `name="value"` for what is given, with a space before each. */
export function attributes(values: Record<string, string | number | null>): string {
  return Object.entries(values).filter(([, value]) => value !== null)
    .map(([name, value]) => ` ${name}="${typeof value === 'number' ? number(value) : escape(value!)}"`).join('');
}

export function painted(name: 'fill' | 'stroke', computed: string): Record<string, string | number | null> {
  const {hex, alpha} = colour(computed);
  return alpha === 0 ? {[name]: 'none'} : {[name]: hex, [`${name}-opacity`]: alpha === 1 ? null : alpha};
}
