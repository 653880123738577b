// Imports a foreign stack into a box of the box template: surveys which database the running chat server is connected to, which settings it has
// read, whether its media are there; takes its data, switches over, and returns to it where anything fails.
// It asks what runs and never concludes from the stack's files what it could ask. It writes nothing into the stack: its containers are stopped
// and started, and only the end of the return path removes them.
export { finishImport, importState } from './finish-import.ts'
export { foreignPrograms } from './foreign-programs.ts'
export { importBox } from './import-box.ts'
export type { ForeignPrograms, ImportDeps } from './import-run.ts'
export { surveyImport } from './survey-import.ts'
export { undoImport } from './undo-import.ts'
