// What happens in a tenant and who may hear of it: every stored event type, the 19 types clients are told, the audience of each.
// It holds no event: the daemon stores and sends them. A message carries ids alone; whoever may read the thing reads it by its own rules.
export { Audience, type IsMember, reaches } from './audience.ts'
export { EventRecord, eventsContract } from './contract.ts'
export { type EventType, eventTypes, idsOf, type PayloadOf, streamTypeOf, type TenantEventType } from './event-types.ts'
export { messageOf, positionMessage, type ResetReason, readCursor, resetMessage, StreamData, StreamType } from './stream-type.ts'
