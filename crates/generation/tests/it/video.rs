//! Families and protocols, tested by folders of cases: one file, one request, one outcome.

mod a;
mod answers;
mod ark;
mod b;
mod c;
mod cases;
mod d;
mod dashscope;
mod e;
mod folders;
mod kling;
mod openai;
mod price;
mod random;
mod walk;
