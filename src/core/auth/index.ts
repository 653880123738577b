// What others may know of the daemon's signing keys: the published half, and when a key is published, used and retired.
// Private keys never come here.
export { authContract, type PublicKey } from './contract.ts'
