// What live views on a terminal have in common. It knows no view.
export { keptScrollback } from './kept-scrollback.ts'
export { Keys } from './keys.tsx'
export { whenResized } from './when-resized.ts'
