import { defineConfig, type Plugin } from "vite";

/** The rest of the page is loaded beside the first script, which imports it only after the first paint. */
function preloadMain(): Plugin {
  return {
    name: "preload-main",
    transformIndexHtml: {
      order: "post",
      handler: (_html, { bundle }) =>
        Object.values(bundle ?? {})
          .filter((each) => each.type === "chunk" && each.name === "main")
          .map((each) => ({ tag: "link", attrs: { rel: "modulepreload", crossorigin: true, href: `/${each.fileName}` }, injectTo: "head" })),
    },
  };
}

// Names hold a digest of the content, so that browsers may keep the files for ever; nothing depends on the time or place
// of the build, so that the same source gives the same files.
export default defineConfig({
  plugins: [preloadMain()],
  build: {
    outDir: "../src/nacre/web/static",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rollupOptions: {
      output: {
        entryFileNames: "assets/[name]-[hash].js",
        chunkFileNames: "assets/[name]-[hash].js",
        assetFileNames: "assets/[name]-[hash][extname]",
      },
    },
  },
  worker: { format: "es", rollupOptions: { output: { entryFileNames: "assets/[name]-[hash].js" } } },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
