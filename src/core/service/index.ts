// The daemon itself: health, readiness, metrics and API documentation.
export { type Readiness, type Setting, serviceContract } from './contract.ts'
