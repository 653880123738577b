// One schema, one load, frozen: what an operator may set, from a file or the environment. Unknown keys are refused with their path.
export { type Config, loadConfig, variableNames } from './load.ts'
