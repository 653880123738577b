// Live screens on a terminal, drawn with ink. Load it lazily: ink and React are heavy.
// It knows no command.
export { onResize, openLiveScreen, preserveScrollback } from './live-screen.tsx'
