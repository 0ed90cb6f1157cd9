import { defineConfig } from "vite";

// Names hold a digest of the content, so that browsers may keep the files for ever; nothing depends on the time or place
// of the build, so that the same source gives the same files.
export default defineConfig({
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
