// The scan of a submitted package: findings with file, line and column, by fixed rules.
// It helps a reviewer. It is not a security boundary: code can hide from a scan. The sandbox limits a module.
// Pure: it reads bytes that others unpacked and runs nothing of them.
export { type Finding, finding } from './findings.ts'
/** Loads the scan of a file, whose parser is half a megabyte of code that few processes need. */
export const loadScan = async () => (await import('./scan-file.ts')).scanFile
