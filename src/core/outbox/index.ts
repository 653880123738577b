// Follow-up work: which kinds wait beside each other, how many are worked on at once, when what failed is tried again, what an operator sees of it.
// It decides numbers and names; it takes nothing from a database and does no work.
export { outboxContract } from './contract.ts'
export { aboutOf, type Followup, type FollowupCount, type FollowupState } from './followup.ts'
export { awayMs, inChatQueue, type Lane, restMs, shares, type Track } from './lanes.ts'
