import { command } from '../kit/index.ts'
import { hostList } from './hosts.view.ts'

export const list = command('list', 'All hosts with their state', {}, ({ api }) => api.hosts.listHosts(), hostList)
