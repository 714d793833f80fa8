// Words as they are copied: in the search's own language a word after "-" is excluded, and each word between quotes must
// occur, also those that are not in the index ("in", "the"). So --nproc-per-node or a quoted message would find nothing.
{
  const plain = text => text.replace(/"/g, " ").replace(/(^|\s)[-+]+(?=\S)/g, "$1");
  window.Worker = class extends window.Worker {
    postMessage(message, ...more) {
      super.postMessage(typeof message?.data === "string" ? { ...message, data: plain(message.data) } : message, ...more);
    }
  };
}
