// Live screens on a terminal, drawn with ink. Load it lazily: ink and React are heavy.
// It knows no command.
export { type LiveScreen, onResize, openLiveScreen, preserveScrollback } from './live-screen.tsx'
