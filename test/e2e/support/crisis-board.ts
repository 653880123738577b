// The crisis board as a teacher draws it in an app: what the API gets, with ids of a tenant in their places.

const template = `# Crisis report of {board}

Place: {place}. Injured people: {injured}. Run {run}, started at {startedAt} by {startedBy}.
`

/** Alarm form, then parents, principal and custodian at the same time, a decision on the answer, and a report. */
export const crisisDefinition = (parentsRoomId: string) => ({
  columns: [
    { id: 'alarm-column', name: 'Alarm' },
    { id: 'act', name: 'Act', sortOrder: 1 },
  ],
  elements: [
    { id: 'start', kind: 'start', label: 'Alarm', config: {} },
    {
      ...{ id: 'alarm', kind: 'form', label: 'What happened', columnId: 'alarm-column' },
      config: {
        assignedRole: 'teacher',
        fields: [
          { name: 'place', kind: 'text', label: 'Place', required: true },
          { name: 'injured', kind: 'number', label: 'Injured people', required: true, min: 0 },
        ],
      },
    },
    { id: 'split', kind: 'parallel_split', label: 'At the same time', config: {}, columnId: 'act' },
    {
      ...{ id: 'tell', kind: 'message', label: 'Inform the parents', columnId: 'act' },
      config: { room: parentsRoomId, body: 'Alarm in {place}: pick up your children.' },
    },
    {
      ...{ id: 'approve', kind: 'checkpoint', label: 'Close the school', columnId: 'act' },
      config: { assignedRole: 'principal', requiredApprovals: 2 },
    },
    // Late soon, with time for a restart of the daemon after the warning at 80 %.
    {
      ...{ id: 'secure', kind: 'task', label: 'Secure the doors', columnId: 'act' },
      config: { assignedRole: 'custodian', dueAt: 'PT20S', escalationRole: 'principal' },
    },
    { id: 'join', kind: 'parallel_join', label: 'All done', config: {}, columnId: 'act' },
    { id: 'which', kind: 'decision', label: 'Injured people', config: {} },
    { id: 'care', kind: 'task', label: 'Call the families', config: { assignedRole: 'principal' } },
    { id: 'report', kind: 'report', label: 'Report', config: { title: 'Crisis report', template } },
    { id: 'end', kind: 'end', label: 'End', config: {} },
  ],
  edges: [
    { id: 'e1', source: 'start', target: 'alarm' },
    { id: 'e2', source: 'alarm', target: 'split' },
    { id: 'e3', source: 'split', target: 'tell' },
    { id: 'e4', source: 'split', target: 'approve', sortOrder: 1 },
    { id: 'e5', source: 'split', target: 'secure', sortOrder: 2 },
    { id: 'e6', source: 'tell', target: 'join' },
    { id: 'e7', source: 'approve', target: 'join', condition: { type: 'approved' } },
    { id: 'e8', source: 'secure', target: 'join' },
    { id: 'e9', source: 'join', target: 'which' },
    { id: 'e10', source: 'which', target: 'care', condition: { type: 'expression', expression: 'vars.injured > 0' } },
    { id: 'e11', source: 'which', target: 'report', condition: { type: 'else' } },
    { id: 'e12', source: 'care', target: 'report' },
    { id: 'e13', source: 'report', target: 'end' },
  ],
  startRoles: ['teacher'],
  triggers: [{ id: 'word', kind: 'chat', phrases: ['alarm'], cooldownMinutes: 0 }],
})

/** A rejection that leaves the join without one of its branches. */
export const rejectedToEnd = { id: 'wrong', source: 'approve', target: 'end', condition: { type: 'rejected' }, sortOrder: 1 }
