// The available models, and the server's facts about one.
import type {FoundModels, Model, Models} from '../answers';
import {json, kApi} from './ask';
import type {About} from './api';
import type {Requests} from './requests';

/** For the served model, or another one by name. */
export async function about(requests: Requests, model?: string): Promise<About> {
  const query = model === undefined ? '' : `?model=${encodeURIComponent(model)}`;
  const {models, ...rest} = await json<Models>(requests, `${kApi}/models${query}`);
  return {...rest, model: models[0]!};
}

export async function found(requests: Requests): Promise<Model[]> {
  return (await json<FoundModels>(requests, `${kApi}/models/found`)).models;
}
