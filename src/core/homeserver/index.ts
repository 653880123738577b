// The port to a tenant's chat server: the calls the platform makes, their results, and how an answer becomes a result or a fault.
// Decides by the server's errcode, never by the HTTP status alone.
// Sends no request.

export { type ChatAnswer, errcodeOf, errorOf, faultOf, isFault, unexpected } from './chat-answer.ts'
export { expandAddress, homeserverContract, PlatformAddress, platformUrl } from './contract.ts'
export type {
  Created,
  Done,
  Fault,
  Homeserver,
  Homeservers,
  LoggedIn,
  NewChatUser,
  ReadAnswer,
  ServiceAnswer,
  ServiceRequest,
  WhoIs,
} from './port.ts'
