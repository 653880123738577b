// All rooms of the daemon joined: what is served, who may call, and the work that goes on until it drains. The only place that knows every room.
// It decides nothing of its own: what a room may see of another is handed over here, and nowhere else.
export { wire } from './wire.ts'
