// Surveys a foreign stack for its import into a box of the box template: which database the running chat server is connected to, which settings
// it has read, whether its media are there. It asks what runs and never concludes from the stack's files what it could ask.
// It changes nothing of the stack, not even by a file that a program leaves behind.
export { surveyImport } from './survey-import.ts'
