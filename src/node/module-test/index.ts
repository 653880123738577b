// The test of a type A module: loads it in the real sandbox, runs its migrations and each handler on samples, in memory.
// It decides whether the module does what its manifest and samples say. It stores nothing.
export { type TestedStep, type TestReport, testModule } from './test-module.ts'
