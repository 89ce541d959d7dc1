// The answers of a session that stay in memory, and how many of each kind.
import type {EdgeRow, Line} from '../attention/arcs';
import type {Evidence, Marginals, Next} from '../answers';
import type {Looks} from '../attention/looks';
import type {Atlas} from './atlas';
import {Recent} from './recent';
import type {Requests} from './requests';
import {kMostBlocks} from './row_blocks';

export type Caches = ReturnType<typeof cachesOf>;

export function cachesOf(requests: Requests) {
  const recent = <Value>(most: number) => new Recent<Value>(most, requests);
  return {
    lines: recent<Line>(500),
    blocks: recent<Float32Array>(kMostBlocks),
    windows: recent<EdgeRow[]>(50),
    margins: recent<Marginals>(64),
    words: recent<Next>(500),
    tiles: recent<ArrayBuffer>(256),
    asked: recent<unknown>(100),
    matrices: recent<Float32Array>(64),
    read: recent<Looks>(64),
    proofs: recent<Evidence>(64),
    atlases: recent<Atlas>(8),
  };
}
