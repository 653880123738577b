// Follow-up work: which kinds wait beside each other, how many are worked on at once, when what failed is tried again.
// It decides numbers and names; it takes nothing from a database and does no work.
export { awayMs, inChatQueue, type Lane, Lanes, restMs, shares, type Track } from './lanes.ts'
