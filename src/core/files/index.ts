// What is kept in spaces: folders.
// It says what may be asked; who may ask is decided by the space. It holds nothing.
export { type Folder, filesContract } from './contract.ts'
