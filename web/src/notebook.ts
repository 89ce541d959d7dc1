// The page in a notebook, as a module of anywidget: the live page replaces the saved one, and appears as a view of the
// widget anywhere else.
import type {Model} from './notebook/page';
import {NotebookPage} from './notebook/page';
import {Places, kLost, lost} from './notebook/places';

interface WidgetModel extends Model { model_id?: string }

function whenStopped(model: Model, stop: (why: string) => void): void {
  model.on('comm_live_update', () => stop(kLost));  // a kernel that restarts or ends
  model.on('msg:custom', ({stopped}) => { if (stopped !== undefined) stop(stopped); });
}

export default {
  initialize({model}: {model: WidgetModel}): () => void {
    const places = new Places(model, String(model.get('page')));
    whenStopped(model, (why) => places.stop(why));
    return () => places.stop(kLost);
  },

  render({model, el}: {model: WidgetModel; el: HTMLElement}): () => void {
    let page: NotebookPage | null = new NotebookPage(el, model, String(model.get('address')));
    const stop = (why: string | null) => {
      page?.destroy();
      if (page && why !== null) el.append(lost(why));
      page = null;
    };
    whenStopped(model, stop);
    return () => stop(null);
  },
};
