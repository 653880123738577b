// Audit log rules: the form of an entry, its hash, the verification of a chain and of an export.
// Pure functions; no reads or writes.

export { type AuditEntry, auditHash, type ChainHead, chainStart, genesisHash, verifyChain } from './chain.ts'
export { Checkpoint, checkpointKeyId, checkpointText, readCheckpoints } from './checkpoint.ts'
export { auditContract, type ChainReport } from './contract.ts'
export { type ExportHeader, evidenceSum, sumInEntry, writeExportLine } from './export.ts'
export { type Proof, proveExport, type SignatureVerdict } from './prove-export.ts'
export { type RecordEntry, recordEntryOf, recordedActions, tenantRecordContract } from './tenant-record.ts'
