// Events of tenants: all stored types, the 19 types published to clients, audiences, cursors and stream messages.
// A message contains ids only; clients read the changed resources through their own endpoints and permissions.
// This folder stores and sends nothing.
export { Audience, type IsMember, reaches } from './audience.ts'
export { EventRecord, eventsContract } from './contract.ts'
export {
  type EventType,
  eventTypes,
  idsOf,
  isModuleEvent,
  type ModuleEventPayload,
  type ModuleEventType,
  moduleDepthOf,
  type PayloadOf,
  progressOf,
  StreamType,
  streamTypeOf,
  type TenantEventType,
  typesNear,
} from './event-types.ts'
export { messageOf, positionMessage, type ResetReason, readCursor, resetMessage, StreamData } from './stream-type.ts'
