// Signing keys: the published keys, and the times at which a key is published, used and retired.
// Private keys are not part of it.
export { authContract, type PublicKey } from './contract.ts'
