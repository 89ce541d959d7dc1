// What a saved page holds: all but the weights of the heads that it was saved with.
import type {Chosen, LayerHeads, Models, Next, Session} from '../answers';
import type {Place} from '../selection';

/** Numbers as little-endian bytes in base64. */
type Packed = string;

interface PackedHead {
  head: number;
  group: number;       // the kv head that it reads
  scale: number;       // score = scale * q . k
  q: Packed;           // f32 [queries, D]
  lse: Packed;         // f64 [queries]
  received: Packed;    // f32 [keys]
  keys_in_use: Packed; // f32 [queries]
  row_sum_error: number;
  overview?: Packed;   // the tile of zoom 0, where it pools: u8
}

interface PackedLayer {
  stack: string;
  layer: number;
  dim: number;
  begins: Packed;      // i32 [queries]: a query may see the keys [begin, end)
  ends: Packed;
  keys: Record<string, Packed>;  // by kv head, f32 [keys, D]
  heads: PackedHead[];
}

interface PackedAtlas {
  stack: string;
  block: number;
  rows: number;
  columns: number;
  heads: Record<number, Packed>;  // u8, by layer x heads + head
}

/** What a file holds of one session. */
interface HeldSession {
  session: Session;
  chosen: Chosen;
  scores: LayerHeads[];
  next: Next[];        // of every position, or of the last alone
  held: PackedLayer[];
  atlas: PackedAtlas[];  // thumbnails of the heads that it does not hold, as far as they fit
}

/** As it stands in the file. */
export interface Snapshot extends HeldSession {
  about: Models;
  view: string;
  answers?: {question: string; answer: string}[];  // of words and flows, as the page asked then
  edited?: HeldSession;  // what the view compares it with
}

/** One head, unpacked. */
export interface HeldHead {
  queries: number;     // how many
  keys: number;
  dim: number;
  scale: number;
  q: Float32Array;
  k: Float32Array;
  lse: Float64Array;
  begins: Int32Array;
  ends: Int32Array;
  received: Float32Array;
  keysInUse: Float32Array;
  rowSumError: number;
  overview: Uint8Array | null;
}

export function bytesOf(packed: Packed): ArrayBuffer {
  const text = atob(packed);
  const result = new Uint8Array(text.length);
  for (let at = 0; at < text.length; ++at) result[at] = text.charCodeAt(at);
  return result.buffer;
}

/** The heads of a file; each is unpacked when it is first asked for. */
export class HeldHeads {
  private readonly unpacked = new Map<string, HeldHead>();

  constructor(private readonly snapshot: Snapshot) {}

  find({stack, layer, head}: Place): HeldHead | null {
    const name = `${stack}.${layer}.${head}`;
    const known = this.unpacked.get(name);
    if (known) return known;
    const of = this.snapshot.held.find((each) => each.stack === stack && each.layer === layer);
    const packed = of?.heads.find((each) => each.head === head);
    if (!of || !packed) return null;
    const {queries, keys} = this.snapshot.session.attentions.find((each) => each.stack === stack)!;
    const found: HeldHead = {
      queries, keys, dim: of.dim, scale: packed.scale,
      q: new Float32Array(bytesOf(packed.q)), k: new Float32Array(bytesOf(of.keys[packed.group]!)),
      lse: new Float64Array(bytesOf(packed.lse)),
      begins: new Int32Array(bytesOf(of.begins)), ends: new Int32Array(bytesOf(of.ends)),
      received: new Float32Array(bytesOf(packed.received)), keysInUse: new Float32Array(bytesOf(packed.keys_in_use)),
      rowSumError: packed.row_sum_error,
      overview: packed.overview === undefined ? null : new Uint8Array(bytesOf(packed.overview)),
    };
    this.unpacked.set(name, found);
    return found;
  }
}
