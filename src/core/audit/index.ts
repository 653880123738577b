// The audit log as mathematics: what an entry is, how it is hashed, whether a chain holds together, and what an export proves.
// It reads and writes nothing.

export { type AuditEntry, auditHash, type ChainHead, chainStart, genesisHash, verifyChain } from './chain.ts'
export { Checkpoint, checkpointKeyId, checkpointText, readCheckpoints } from './checkpoint.ts'
export { auditContract, type ChainReport } from './contract.ts'
export { type ExportHeader, evidenceSum, sumInEntry, writeExportLine } from './export.ts'
export { type Proof, proveExport, type SignatureVerdict } from './prove-export.ts'
