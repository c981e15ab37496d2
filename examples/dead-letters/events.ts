// The events that this app declares, with their schemas. The README adds refunds.
export const events = {};
