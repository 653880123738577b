// Spaces of a tenant: their types and visibility, the rights of users in them, and their rooms in the chat.
// Decides who may find, enter and manage a space, and the steps that sync its rooms with the database.
// Sends no request and stores nothing.
export { type Activity, ofSpace, spacesContract } from './contract.ts'
export {
  type ChatStep,
  type DesiredMember,
  type Membership,
  newRoomBody,
  type ObservedRoom,
  type ObservedSpace,
  planChat,
  type RoomKind,
  roomAliasName,
  roomKinds,
} from './plan-chat.ts'
export {
  type OwnSpace,
  Space,
  type SpaceId,
  SpaceMember,
  SpaceName,
  type SpaceRights,
  SpaceRole,
  SpaceType,
  SpaceVisibility,
  spaceRights,
} from './space.ts'
