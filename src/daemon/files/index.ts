// What members keep in spaces: folders. Every call asks the space first, so that nothing is here for who is no member.
// It decides who may take a folder away; it knows no chat server.
import './files.tables.ts'

export { filesRoutes } from './files.routes.ts'
export { forgetFolders } from './folders.ts'
