// The content of a saved page, except the weights of its heads.
import type {Chosen, LayerHeads, Models, Next, Session} from '../answers';
import type {Place} from '../selection/selection';

/** Numbers as little-endian bytes in base64. */
type Packed = string;

/** The largest weights of each row, in the order of the keys; the others of a run share what is left. */
interface PackedWeights {
  largest?: number;    // how many are listed per row; none: all
  counts: Packed;      // u16 [queries]: number of entries
  begins: Packed;      // u16 [queries]: the run of visible keys, if some are not listed
  ends: Packed;
  rests: Packed;       // f32 [queries]: the sum of the unlisted ones
  keys: Packed;        // u16, one per entry
  codes: Packed;       // u16: 0 below 2^-24, 65535 is 1, logarithmic
}

interface PackedHead {
  head: number;
  group: number;       // its kv head
  scale: number;       // score = scale * q . k
  q: Packed;           // f32 [queries, D]
  lse: Packed;         // f64 [queries]
  received: Packed;    // f32 [keys]
  keys_in_use: Packed; // f32 [queries]
  row_sum_error: number | null;
  overview?: Packed;   // the tile of zoom 0, if it pools: u8
  weights?: PackedWeights;  // replaces scale, q and lse
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

/** A file's content for one session. */
interface HeldSession {
  session: Session;
  chosen: Chosen;
  scores: LayerHeads[];
  next: Next[];        // of every position, or only of the last
  held: PackedLayer[];
  atlas: PackedAtlas[];  // thumbnails of heads that the file lacks, as far as they fit
}

/** As stored in the file. */
export interface Snapshot extends HeldSession {
  about: Models;
  view: string;
  answers?: {question: string; answer: string}[];  // about words and flows, as the page asked when it was saved
  edited?: HeldSession;  // the other side of the view's comparison
}

/** The weights of a row from key `begin` to key `end`, empty where masked. */
export type RowWeights = (query: number, begin: number, end: number, visit: (key: number, weight: number) => void) => void;

/** One head, unpacked. */
export interface HeldHead {
  queries: number;     // how many
  keys: number;
  weights: RowWeights;
  largest?: number;    // exact weights per row; the others are their mean
  received: Float32Array;
  keysInUse: Float32Array;
  rowSumError: number | null;
  overview: Uint8Array | null;
}

export function bytesOf(packed: Packed): ArrayBuffer {
  const text = atob(packed);
  const result = new Uint8Array(text.length);
  for (let at = 0; at < text.length; ++at) result[at] = text.charCodeAt(at);
  return result.buffer;
}

/** e^(scale q.k - lse), as the server computes it. */
function scoredWeights(of: PackedLayer, packed: PackedHead): RowWeights {
  const {dim} = of;
  const {scale} = packed;
  const [q, k] = [new Float32Array(bytesOf(packed.q)), new Float32Array(bytesOf(of.keys[packed.group]!))];
  const lse = new Float64Array(bytesOf(packed.lse));
  const [begins, ends] = [new Int32Array(bytesOf(of.begins)), new Int32Array(bytesOf(of.ends))];
  return (query, begin, end, visit) => {
    const last = Math.min(end, ends[query]!);
    for (let key = Math.max(begin, begins[query]!); key < last; ++key) {
      let sum = 0;
      for (let at = 0, i = query * dim, j = key * dim; at < dim; ++at) sum += q[i + at]! * k[j + at]!;
      visit(key, Math.exp(scale * sum - lse[query]!));
    }
  };
}

function listedWeights(packed: PackedWeights): RowWeights {
  const [counts, begins, ends, keys, codes] = [packed.counts, packed.begins, packed.ends, packed.keys, packed.codes].map((each) => new Uint16Array(bytesOf(each))) as Uint16Array[] as [Uint16Array, Uint16Array, Uint16Array, Uint16Array, Uint16Array];
  const rests = new Float32Array(bytesOf(packed.rests));
  const firsts = new Uint32Array(counts.length + 1);
  counts.forEach((count, row) => { firsts[row + 1] = firsts[row]! + count; });
  const weightAt = (at: number) => codes[at] === 0 ? 0 : 2 ** (24 * (codes[at]! / 65535 - 1));
  return (query, begin, end, visit) => {
    let [at, last] = [firsts[query]!, firsts[query + 1]!];
    const mean = rests[query]! / (ends[query]! - begins[query]! - (last - at));
    while (at < last && keys[at]! < begin) ++at;
    if (ends[query] === 0) {  // all are listed
      for (; at < last && keys[at]! < end; ++at) visit(keys[at]!, weightAt(at));
      return;
    }
    const stop = Math.min(end, ends[query]!);
    for (let key = Math.max(begin, begins[query]!); key < stop; ++key) visit(key, at < last && keys[at] === key ? weightAt(at++) : mean);
  };
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
      queries, keys, weights: packed.weights ? listedWeights(packed.weights) : scoredWeights(of, packed), largest: packed.weights?.largest,
      received: new Float32Array(bytesOf(packed.received)), keysInUse: new Float32Array(bytesOf(packed.keys_in_use)),
      rowSumError: packed.row_sum_error,
      overview: packed.overview === undefined ? null : new Uint8Array(bytesOf(packed.overview)),
    };
    this.unpacked.set(name, found);
    return found;
  }
}
