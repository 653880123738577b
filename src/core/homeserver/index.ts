// What the platform asks of a tenant's chat server, and the answers told apart by the server's own code, never by the status alone.
// It decides what an answer means; it speaks to no server.

export { homeserverContract } from './contract.ts'
export { type ChatAnswer, errcodeOf, errorOf, faultOf, isFault, unexpected } from './judge.ts'
export { fillAddress, PlatformAddress, platformUrl } from './platform-address.ts'
export type {
  Created,
  Done,
  Fault,
  Homeserver,
  Homeservers,
  LoggedIn,
  NewChatUser,
  ServiceAnswer,
  ServiceRequest,
  WhoIs,
} from './port.ts'
