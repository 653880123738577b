// Restarts the containers of one box, or some of them, unchanged, and proves that it is healthy again. It loses connections only: no fence, no new container.
// A killed agent continues the restart at its next start. It never decides whether a box may be restarted now: the daemon does.
export { restart } from './restart.ts'
