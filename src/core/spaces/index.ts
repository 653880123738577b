// Spaces of a tenant: their kinds, who may find, enter and manage one, and what the chat server has to look like for one.
// It decides from what is known on both sides; it asks no chat server and stores nothing.
export { type Activity, ofSpace, spacesContract } from './contract.ts'
export {
  type ChatStep,
  type Place,
  planChat,
  type RoomKind,
  roomKinds,
  type SeenRoom,
  type SeenSpace,
  type WantedMember,
} from './plan-chat.ts'
export { type SpaceRights, spaceRights } from './rights.ts'
export { newRoomBody, roomAliasName } from './room-shape.ts'
export {
  type OwnSpace,
  Space,
  type SpaceId,
  type SpaceMember,
  SpaceName,
  type SpaceRole,
  type SpaceType,
  type SpaceVisibility,
} from './space.ts'
