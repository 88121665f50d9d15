export const loadEditor = () => import('./CodeEditor.vue')

// Asked for as soon as the lab page is, not when the lab has arrived: it is the heaviest part. A failure shows
// where the editor is used.
loadEditor().catch(() => undefined)
