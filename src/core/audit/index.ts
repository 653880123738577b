// The audit log as mathematics: what an entry is, how it is hashed, whether a chain holds together, and what an export proves.
// It reads and writes nothing.
export { Checkpoint, checkpointKeyId, checkpointText, readCheckpoints } from './checkpoint.ts'
export { auditContract, type ChainReport } from './contract.ts'
export { type AuditEntry, auditHash, genesisHash } from './entry.ts'
export { type ExportHeader, evidenceSum, sumInEntry, writeExportLine } from './export.ts'
export { type Proof, proveExport, type SignatureVerdict } from './prove-export.ts'
export { type ChainHead, chainStart, verifyChain } from './verify-chain.ts'
