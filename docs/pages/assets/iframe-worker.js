// The search runs in a worker, and a browser starts no worker for a page that was opened as a file. This gives such a page
// a Worker that runs in a hidden frame instead. Pages from a server keep the browser's own.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const quoted = String(new URL(address, document.baseURI)).replaceAll("&", "&amp;").replaceAll('"', "&quot;");
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      // In the worker postMessage() is to the page, and importScripts() may be awaited.
      this.frame.srcdoc = `<!doctype html><script>
        var page = parent;
        window.postMessage = data => page.dispatchEvent(new MessageEvent("worker-message", { data }));
        window.importScripts = (...all) => all.reduce((before, one) => before.then(() => new Promise((done, failed) => {
          const script = document.createElement("script");
          Object.assign(script, { src: one, onload: done, onerror: failed });
          document.head.append(script);
        })), Promise.resolve());
      </script><script src="${quoted}"></script>`;
      window.addEventListener("worker-message", ({ data }) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      });
      this.frame.onload = () => {
        this.loaded = true;
        this.waiting.splice(0).forEach(data => this.postMessage(data));
      };
      const add = () => document.body.append(this.frame);
      document.body ? add() : document.addEventListener("DOMContentLoaded", add);
    }
    postMessage(data) {
      if (this.loaded) this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      else this.waiting.push(data);
    }
    terminate() {
      this.frame.remove();
    }
  };
}
