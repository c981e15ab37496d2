// Stands in for your database.

const paid = new Map<string, { amount: string; currency: string }>();

export const orders = {
  /** Set it to false to see what happens to a payment while the database is down. */
  online: true,

  async markPaid(id: string, amount: string, currency: string): Promise<void> {
    if (!orders.online) throw new Error('the database is down');
    paid.set(id, { amount, currency });
  },

  async isPaid(id: string): Promise<boolean> {
    return paid.has(id);
  },
};
