import { join } from 'node:path'
import type { Project } from '../ports/index.ts'

/** The file whose presence closes the edge, in a folder that the edge has mounted (`config/box-template/edge`). */
export const fenceSwitch = (project: Project): string => join(project.folder, 'edge', 'fence', 'on')
