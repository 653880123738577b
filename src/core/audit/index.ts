// The audit log as mathematics: what an entry is, how it is hashed, and whether a chain holds together.
// It reads and writes nothing.
export { type Checkpoint, checkpointText } from './checkpoint.ts'
export { auditContract, type ChainReport } from './contract.ts'
export { type AuditEntry, auditHash, genesisHash } from './entry.ts'
export { type ChainHead, chainStart, verifyChain } from './verify-chain.ts'
