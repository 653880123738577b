// The scan of a submitted package: findings with file, line and column, by fixed rules.
// It helps a reviewer. It is not a security boundary: code can hide from a scan. The sandbox limits a module.
// Pure: it reads bytes that others unpacked and runs nothing of them.
export { type Finding, finding } from './findings.ts'
export { scanFile } from './scan-file.ts'
